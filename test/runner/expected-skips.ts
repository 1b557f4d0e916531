/** What may be skipped in CI, by the obstacle that a test names. All else has to run there. */
const EXPECTED_SKIPS: readonly { readonly obstacle: RegExp; readonly why: string }[] = [
  {
    obstacle: /^there are no fixtures in \.\.\/shared$/,
    why: 'they are files of other projects, and not part of this one',
  },
  {
    obstacle: /^TAINTKEEPER_SCREENSHOTS is not set$/,
    why: 'another machine has other fonts, and would write other pictures',
  },
  {
    obstacle: / must not be newer than the API server$/,
    why: "Kubernetes' version skew policy; on the newest they run",
  },
  {
    obstacle: /^a real node needs /,
    why: 'not every machine may have namespaces and cgroups of its own',
  },
  {
    obstacle: /^the previous release \(.*\) is not in this clone's history$/,
    why: 'a clone may be shallow; that of the nightly workflow is not',
  },
  { obstacle: /^KUBEBUILDER_ASSETS may have any helm$/, why: 'it is used as it is' },
  { obstacle: /^Kubernetes (has|fails at) .+ since 1\.\d+$/, why: 'there is nothing to be tested on an older one' },
  {
    obstacle: /^types are checked by the controller manager, which is newer than this API server$/,
    why: 'on the newest it runs',
  },
];

/** Whether CI does without a test that has this obstacle. */
export function isExpected(obstacle: string): boolean {
  return EXPECTED_SKIPS.some((expected) => expected.obstacle.test(obstacle));
}
