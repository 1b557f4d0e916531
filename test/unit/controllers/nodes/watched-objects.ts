import { onTestFinished } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { Run } from '../../../../src/controllers/controller.ts';
import { createMetrics } from '../../../../src/replica/metrics.ts';
import { captureLog } from '../../captured-log.ts';

export interface WatchedObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: object;
}

interface Query {
  readonly sendInitialEvents?: boolean;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

/** An API server with objects of one kind, which it lists and watches by the name, the node, a label, and the namespace in the path. */
export function watchedObjects() {
  const objects = new Map<string, WatchedObject>();
  const watches = new Set<{
    readonly selects: (object: WatchedObject) => boolean;
    readonly tell: (event: object) => void;
    readonly end: () => void;
  }>();
  /** `LIST PATH?SELECTOR` and `WATCH …` in that order, or `STREAM …` for both in one request. */
  const requests: string[] = [];
  let refusal: number | undefined;
  let version = 1;
  let behindMs = 0;
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const run: Run = { signal: stopping.signal, metrics: createMetrics('test'), log: captureLog().log };

  const client: Pick<ApiClient, 'request' | 'lines' | 'now'> = {
    now: () => new Date(Date.now() - behindMs),
    async request<T>(method: string, path: string, { query = {} }: { readonly query?: Query | undefined } = {}) {
      requests.push(`LIST ${path}?${selectorOf(query)}`);
      if (refusal !== undefined) throw new ApiError(method, path, refusal, 'no', '');
      const items = [...objects.values()].filter(selecting(path, query));
      return { metadata: { resourceVersion: String(version) }, items } as T;
    },
    async *lines(path, { query = {}, signal, onOpen }) {
      requests.push(`${query.sendInitialEvents ? 'STREAM' : 'WATCH'} ${path}?${selectorOf(query)}`);
      if (refusal !== undefined) throw new ApiError('GET', path, refusal, 'no', '');
      onOpen?.();
      const events: object[] = query.sendInitialEvents ? initialEvents(selecting(path, query)) : [];
      let wake = () => {};
      let isOpen = true;
      const watch = {
        selects: selecting(path, query),
        tell(event: object) {
          events.push(event);
          wake();
        },
        end() {
          isOpen = false;
          wake();
        },
      };
      watches.add(watch);
      signal?.addEventListener('abort', watch.end);
      try {
        while (isOpen && !signal?.aborted) {
          yield* events.splice(0);
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (events.length > 0 || !isOpen || signal?.aborted) resolve();
          });
        }
      } finally {
        watches.delete(watch);
        signal?.removeEventListener('abort', watch.end);
      }
    },
  };

  function initialEvents(selects: (object: WatchedObject) => boolean): object[] {
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const end = { type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version), annotations } } };
    return [...[...objects.values()].filter(selects).map((object) => ({ type: 'ADDED', object })), end];
  }

  return {
    client: client as ApiClient,
    run,
    requests,
    /** How many watches are open. */
    watching: () => watches.size,
    /** From now on, the clock of the API server is behind by so many milliseconds. */
    setBehind(ms: number) {
      behindMs = ms;
    },
    /** The status of all requests from now on; undefined: as it is. */
    refuse(status: number | undefined) {
      refusal = status;
    },
    /** Open watches end without an error, as a server ends them after some minutes. */
    endWatches() {
      for (const { end } of watches) end();
    },
    /** Written anew; watches tell of it. */
    put(object: WatchedObject) {
      const key = keyOf(object);
      const type = objects.has(key) ? 'MODIFIED' : 'ADDED';
      const { metadata } = object;
      const written = { ...object, metadata: { uid: key, ...metadata, resourceVersion: String(++version) } };
      objects.set(key, written);
      for (const { selects, tell } of watches) if (selects(written)) tell({ type, object: written });
    },
    remove(object: WatchedObject) {
      const found = objects.get(keyOf(object));
      if (!found) throw new Error(`there is no ${keyOf(object)}`);
      objects.delete(keyOf(object));
      const gone = { ...found, metadata: { ...found.metadata, resourceVersion: String(++version) } };
      for (const { selects, tell } of watches) if (selects(found)) tell({ type: 'DELETED', object: gone });
    },
  };
}

function keyOf({ metadata: { namespace = '', name } }: WatchedObject): string {
  return `${namespace}/${name}`;
}

function selectorOf({ fieldSelector, labelSelector }: Query): string {
  return [fieldSelector, labelSelector].filter((text) => text !== undefined).join('&');
}

function selecting(
  path: string,
  { fieldSelector = '', labelSelector = '' }: Query,
): (object: WatchedObject) => boolean {
  const [, namespace] = /\/namespaces\/([^/]+)\//.exec(path) ?? [];
  const [field, value] = fieldSelector.split('=');
  const [label, labelValue] = labelSelector.split('=');
  return ({ metadata, spec }) =>
    (namespace === undefined || metadata.namespace === namespace) &&
    (fieldSelector === '' || value === (field === 'spec.nodeName' ? nodeNameOf(spec) : metadata.name)) &&
    (labelSelector === '' || metadata.labels?.[label ?? ''] === labelValue);
}

function nodeNameOf(spec: object | undefined): unknown {
  return (spec as { readonly nodeName?: unknown } | undefined)?.nodeName;
}
