import type { ClientHttp2Stream } from 'node:http2';
import { Http2SessionManager } from '@connectrpc/connect-node';

/** The connection or the stream ended before the answer did. */
export class Interruption extends Error {}

/**
 * Ends each request with the frame that has its message. By default the end is a frame of its own. apid answers before that frame and then
 * resets the stream (RST_STREAM with NO_ERROR, RFC 9113, 8.1), which Node.js takes for an aborted answer.
 */
export class ApidSessions extends Http2SessionManager {
  override async request(...args: Parameters<Http2SessionManager['request']>): Promise<ClientHttp2Stream> {
    const stream = await super.request(...args);
    let hasResponse = false;
    stream.once('response', () => {
      hasResponse = true;
    });
    // Without this, the call would wait for its whole time limit: a reset with NO_ERROR is no error to Node.js.
    stream.once('close', () => {
      if (!hasResponse) stream.emit('error', new Interruption('the stream was closed before the answer'));
    });
    const write = stream.write.bind(stream) as (chunk: Uint8Array) => boolean;
    // Nothing is sent until the end of the request.
    stream.cork();
    stream.write = (chunk: Uint8Array, _encoding?: unknown, done?: (error?: null) => void) => {
      const isWritten = write(chunk);
      queueMicrotask(() => done?.(null));
      return isWritten;
    };
    return stream;
  }
}
