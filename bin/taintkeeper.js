#!/usr/bin/env node
// Plain JavaScript, so that a Node.js too old for the rest can still say so.
// The oldest on which all tests pass (`npm run test:oldest-node`); those before, with OpenSSL 3.0, serve TLS with keys that are too short.
const REQUIRED = '24.5';
const INTERNAL_ERROR = 70;
/** 128 and the number of SIGPIPE. */
const SIGPIPE_CODE = 141;

const [major, minor] = process.versions.node.split('.').map(Number);
const [requiredMajor, requiredMinor] = REQUIRED.split('.').map(Number);
if (major < requiredMajor || (major === requiredMajor && minor < requiredMinor)) {
  process.stderr.write(
    `taintkeeper needs Node.js ${REQUIRED} or newer, this is ${process.versions.node}; in a clone, \`npm ci\` brings one that npx and npm run use\n`,
  );
  process.exitCode = 2;
} else {
  // The reader of the output may stop reading (`| head`). The program ends as other programs do, by the exit code of a shell for SIGPIPE: 0 would mean that
  // nothing was found.
  process.stdout.on('error', (error) => {
    if (error.code === 'EPIPE') process.exit(SIGPIPE_CODE);
    // A full disk, say. Not 1, which is an answer.
    process.stderr.write(`taintkeeper: cannot write the output: ${error.message}\n`);
    process.exit(2);
  });
  // Until it is known; whoever waits for what never comes must not take that for a success.
  process.exitCode = INTERNAL_ERROR;
  // No `await`: the bundle is CommonJS, which has none at the top.
  import('../src/cli/main.ts').then(async ({ main }) => {
    process.exitCode = await main(process.argv.slice(2));
  });
}
