/** An explanation as sections, which the command line prints and the page shows. */
export interface FormattedExplanation {
  readonly sections: readonly Section[];
  readonly next: Step;
  /**
   * Of a node: no required taint is missing. Of a DaemonSet: no required toleration is missing, and no permanent taint keeps it off a node. Of a pod:
   * no required toleration is missing, and it is scheduled.
   */
  readonly isOk: boolean;
}

export type Section = Table | Lines;

export interface Table {
  /** The headings of the columns, such as `Taint`. */
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** One sentence a line. */
export interface Lines {
  readonly lines: readonly string[];
}

export type Cell = string | StateCell | PolicyCell | NodesCell;

/** The severity of a state. `quiet`: of no concern. */
export type Level = 'failed' | 'attention' | 'ok' | 'quiet';

/** A word for the state of the row. */
export interface StateCell {
  readonly text: string;
  readonly level: Level;
}

export interface PolicyCell {
  readonly text: string;
  /** `KIND/NAME`. */
  readonly policy: string;
}

export interface NodesCell {
  readonly nodes: readonly string[];
}

/** The one thing to do next. */
export interface Step {
  /** A shell command. Absent if there is none to run. */
  readonly command?: string;
  readonly note?: string;
}
