import type { Static } from 'typebox';
import * as Type from 'typebox';
import { withinBudget } from '../collections/within-budget.ts';
import { isMapping, valueAt } from '../kubernetes/json.ts';
import { DNS_SUBDOMAIN_LENGTH, LABEL_VALUE_LENGTH } from '../kubernetes/names.ts';
import { Bounded, MalformedObjectError, Nullish, reader } from '../objects/object-schema.ts';
import type { Requester } from '../policy/compiled-taint-policy.ts';
import { printable } from '../text/printable.ts';

export const ADMISSION_API_VERSION = 'admission.k8s.io/v1';

const GroupVersionResource = Type.Object({ group: Type.String(), version: Type.String(), resource: Type.String() });

/**
 * The part of an AdmissionRequest (k8s.io/api/admission/v1) that is read here. Other fields pass unchecked.
 */
const RequestSchema = Type.Object({
  uid: Bounded(DNS_SUBDOMAIN_LENGTH, 1),
  resource: GroupVersionResource,
  subResource: Type.Optional(Bounded(DNS_SUBDOMAIN_LENGTH)),
  name: Type.Optional(Bounded(DNS_SUBDOMAIN_LENGTH)),
  namespace: Type.Optional(Bounded(DNS_SUBDOMAIN_LENGTH)),
  operation: Bounded(LABEL_VALUE_LENGTH, 1),
  userInfo: Type.Object({
    username: Type.Optional(Type.String()),
    groups: Nullish(Type.Array(Type.String())),
  }),
  object: Type.Optional(Type.Unknown()),
  oldObject: Type.Optional(Type.Unknown()),
  dryRun: Nullish(Type.Boolean()),
});
const asRequest = reader(RequestSchema);

export type AdmissionRequest = Static<typeof RequestSchema>;

/** A received review, or the reason why it cannot be read. The uid is present if an answer can have one. */
export type DecodedReview =
  | { readonly ok: true; readonly request: AdmissionRequest }
  | { readonly ok: false; readonly uid: string | undefined; readonly message: string };

/** Reads an AdmissionReview from parsed JSON, without changing or removing anything. */
export function decodeReview(value: unknown): DecodedReview {
  const uid = valueAt(value, ['request', 'uid']);
  const refuse = (message: string): DecodedReview => ({
    ok: false,
    // A uid of the API server has 36 characters. A uid of any length would be in the answer and in the log.
    uid: typeof uid === 'string' && uid !== '' && uid.length <= DNS_SUBDOMAIN_LENGTH ? uid : undefined,
    message,
  });

  if (!isMapping(value) || value.kind !== 'AdmissionReview') return refuse('expected an AdmissionReview');
  const { apiVersion, request } = value;
  if (apiVersion !== ADMISSION_API_VERSION) {
    const found = typeof apiVersion === 'string' ? apiVersion.slice(0, 60) : 'none';
    return refuse(`expected apiVersion ${ADMISSION_API_VERSION}, got ${found}: set admissionReviewVersions to ["v1"]`);
  }
  if (!isMapping(request)) return refuse('request is missing');
  try {
    return { ok: true, request: asRequest(request, ['request']) };
  } catch (error) {
    if (error instanceof MalformedObjectError) return refuse(error.message);
    throw error;
  }
}

/** No object of Kubernetes is nested that deep, and the stack allows several times as much. */
const MAX_DEPTH = 1_000;

/**
 * The message for an error by nested lists that exhaust the stack. Any other RangeError is a bug.
 * @returns undefined for an error of another kind
 */
export function nestedTooDeep(error: unknown, request: AdmissionRequest): MalformedObjectError | undefined {
  if (!(error instanceof RangeError)) return undefined;
  const field = (['object', 'oldObject'] as const).find((name) => isDeeperThan(request[name], MAX_DEPTH));
  return field && new MalformedObjectError(['request', field], 'nested too deep');
}

function isDeeperThan(value: unknown, depth: number): boolean {
  let level = [value];
  for (let reached = 0; level.length > 0; reached++) {
    if (reached > depth) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}

/** Names and groups of identity providers are shorter, and a token has room for some hundreds of groups. */
const MAX_USER_LENGTH = 1_024;
export const MAX_GROUPS = 1_024;
/** The maximum length of all groups together, because each group is compared with the patterns of each policy. */
const MAX_GROUPS_LENGTH = 65_536;

/** The user's name as it is shown. The name itself may have any length. */
export function shownUser({ userInfo: { username = '' } }: AdmissionRequest): string {
  return printable(username.slice(0, MAX_USER_LENGTH));
}

/**
 * The requester, for the patterns of exempt users and groups. A name that is too long counts as empty. Groups beyond the first ones, by number or by
 * their length together, or with a name that is too long, do not count.
 */
export function requesterOf({ userInfo }: AdmissionRequest): Requester {
  const { username = '' } = userInfo;
  const groups = (userInfo.groups ?? []).slice(0, MAX_GROUPS).filter(({ length }) => length <= MAX_USER_LENGTH);
  return {
    username: username.length <= MAX_USER_LENGTH ? username : '',
    groups: withinBudget(groups, MAX_GROUPS_LENGTH, ({ length }) => length),
  };
}
