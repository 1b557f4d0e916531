import type { SourceDocument } from '../../files/documents.ts';
import { valueAt } from '../../kubernetes/json.ts';
import type { Path } from '../../policy/problem.ts';
import { kindOf } from '../document-values.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';
import { isCertificateField, unknownFacts, unknownReason } from './unknown-facts.ts';

/** Names by which pods reach the Kubernetes API. */
const KUBERNETES_NAME = /^kubernetes(\.default(\.svc(\..+)?)?)?$/i;

export const CERTIFICATE_NAMES: Rule = {
  id: 'certificate-names',
  severity: 'no-effect',
  needsKnownVersion: true,
  about:
    "Names for a certificate in the section of another: `machine.certSANs` is for Talos' own API (talosctl), `cluster.apiServer.certSANs` (since 1.14 `certExtraSANs` of KubeAPIServerConfig) for the Kubernetes API (kubectl), which only control-plane nodes serve.",
  check: (subject) => [...misplacedNames(subject), ...wrongNames(subject)],
};

function misplacedNames(subject: LintSubject): RuleFinding[] {
  return unknownFacts(subject)
    .filter(isCertificateField)
    .map((fact) => ({
      document: fact.document,
      path: fact.path,
      severity: 'refused',
      reason: unknownReason(fact),
      fix: "use machine.certSANs for names of Talos' API (talosctl), and for names of the Kubernetes API (kubectl) cluster.apiServer.certSANs, or certExtraSANs of KubeAPIServerConfig since Talos 1.14",
    }));
}

function wrongNames({ configuration: { documents, isPatch }, role }: LintSubject): RuleFinding[] {
  return documents.flatMap((document) => {
    const kubernetes: Path | undefined =
      kindOf(document) === undefined
        ? ['cluster', 'apiServer', 'certSANs']
        : kindOf(document) === 'KubeAPIServerConfig'
          ? ['certExtraSANs']
          : undefined;
    const talos: Path[] = kindOf(document) === undefined ? [['machine', 'certSANs']] : [];
    return [
      ...talos.flatMap((path) => ofKubernetes(document, path)),
      ...[...talos, ...(kubernetes ? [kubernetes] : [])].flatMap((path) => noNames(document, path)),
      // control-plane-document reports that a worker may not have the document at all.
      ...(kubernetes && kindOf(document) === undefined && role === 'worker' && !isPatch
        ? unserved(document, kubernetes)
        : []),
    ];
  });
}

function names(document: SourceDocument, path: Path): [at: Path, name: string][] {
  const list = valueAt(document.value, path);
  if (!Array.isArray(list)) return [];
  return list.flatMap((name, index): [Path, string][] => (typeof name === 'string' ? [[[...path, index], name]] : []));
}

function ofKubernetes(document: SourceDocument, path: Path): RuleFinding[] {
  return names(document, path)
    .filter(([, name]) => KUBERNETES_NAME.test(name))
    .map(([at]) => ({
      document,
      path: at,
      reason: "this is a name of the Kubernetes API, and the list is for the certificate of Talos' own API",
      fix: 'name it in cluster.apiServer.certSANs (certExtraSANs of KubeAPIServerConfig since Talos 1.14)',
    }));
}

function noNames(document: SourceDocument, path: Path): RuleFinding[] {
  return names(document, path)
    .filter(([, name]) => /:\/\/|^[^:]+:\d+$|^\[.*\]/.test(name))
    .map(([at]) => ({
      document,
      path: at,
      reason:
        'a certificate holds host names and IP addresses: with a scheme or a port, no client finds this one in it',
      fix: 'write the host name or the IP address alone',
    }));
}

function unserved(document: SourceDocument, path: Path): RuleFinding[] {
  if (names(document, path).length === 0) return [];
  return [
    {
      document,
      path,
      reason: 'a worker serves no Kubernetes API: these names get into no certificate',
      fix: 'write them into the configuration of the control-plane nodes; names for talosctl belong in machine.certSANs',
    },
  ];
}
