import fc from 'fast-check';
import { seed } from './seed.ts';

// Before each file of tests. fast-check would take a new seed for every property otherwise.
fc.configureGlobal({ seed: seed() });
