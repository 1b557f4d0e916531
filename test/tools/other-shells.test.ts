import { describeCompletion } from './shell-completion.ts';

describeCompletion('zsh');
describeCompletion('fish');
