// @ts-check
import { h } from './dom.js';
import { hrefOf } from './hrefs.js';

/** @param {readonly string[]} nodes by name */
export function nodeLinks(nodes) {
  return nodes.flatMap((node, index) => [index > 0 && ', ', h('a', { href: hrefOf('nodes', node) }, node)]);
}
