import { describeCompletion } from './shell-completion.ts';

describeCompletion('bash');
