import type { MachineConfiguration } from '../../talos/machine-configuration.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import type { Check, Finding } from '../check.ts';
import type { TalosAnswers } from './ask-apid.ts';
import type { ClientJudgement } from './client-certificate.ts';
import type { JudgedApi } from './judged-api.ts';
import type { OwnClock } from './own-clock.ts';

/** A configuration to apply. */
export interface DesiredConfiguration {
  /** The file, as commands name it. */
  readonly file: string;
  readonly configuration: MachineConfiguration;
  /** Rules of `talos lint` that the file switches off. */
  readonly disabled: readonly string[];
}

/** All facts that the checks of `taintkeeper talos doctor` read. */
export interface TalosFacts {
  readonly context: TalosContext;
  readonly client: ClientJudgement;
  /** If a wrong clock is this machine's. */
  readonly clock: OwnClock | undefined;
  /** The addresses that were dialled. */
  readonly apis: readonly JudgedApi[];
  /** Of the nodes that were called, directly or through an endpoint, and of the endpoints. */
  readonly answers: TalosAnswers;
  /** The configuration to apply, if there is one. */
  readonly desired: DesiredConfiguration | undefined;
  readonly now: Date;
}

/** Some names have an address, a node or a file. */
export type TalosCheck = Check<TalosFacts, string>;
export type TalosFinding = Finding<string>;
