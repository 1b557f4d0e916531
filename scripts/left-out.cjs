/**
 * Stands in, in the bundle, for what a package of ours would load and never use (see rolldown.config.ts). Fastify makes compilers of schemas in
 * advance, and calls them only for routes that have one.
 */
module.exports = () => () => {
  throw new Error('this build was made without the package that is needed here');
};
