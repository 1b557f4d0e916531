/**
 * Stands in for undici in the bundle (see rolldown.config.ts). The official client makes one of these only for requests of its own,
 * and ours go through node:https; undici itself is a quarter of the bundle, to be read at every start.
 */
export class Agent {
  constructor() {
    throw new Error('this build makes requests through node:https alone');
  }
}

export { Agent as fetch, Agent as ProxyAgent };
