import type { FastifyReply, FastifyRequest } from 'fastify';
import { decodeReview } from '../../admission/admission-review.ts';
import { badRequest, warned } from '../../admission/response.ts';
import { parseBody, type ReceivedBody } from '../../server/json-body.ts';
import type { WarnOnApply } from './policy-warnings.ts';

/** Answers the reviews of policies. It allows every one. */
export function warningRoute(warnOnApply: WarnOnApply) {
  return ({ body }: FastifyRequest, reply: FastifyReply) => {
    const parsed = parseBody(body as ReceivedBody | undefined);
    if (parsed.tooLarge)
      return reply.send(warned(parsed.subject.uid, ['taintkeeper cannot check it: it is too large']));
    const decoded = decodeReview(parsed.value);
    if (!decoded.ok) {
      const { uid, message } = decoded;
      return reply.code(400).send(uid === undefined ? { error: message } : badRequest(uid, message));
    }
    return warn(decoded.request.uid, warnOnApply(decoded.request), reply);
  };
}

async function warn(uid: string, warnings: ReturnType<WarnOnApply>, reply: FastifyReply) {
  return reply.send(warned(uid, await warnings));
}
