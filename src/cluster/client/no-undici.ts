/**
 * Replaces undici in the bundle (see rolldown.config.ts). The official client uses it only for its own requests, and taintkeeper's requests use
 * node:https. undici itself is a quarter of the bundle, which each start would read.
 */
export class Agent {
  constructor() {
    throw new Error('this build makes requests through node:https alone');
  }
}

export { Agent as fetch, Agent as ProxyAgent };
