import type { Failure, FailedWhile } from './restart.ts';

type TroubleRow = {
  /** What a client is told: nothing of this machine's paths, flags or output. */
  readonly brief: string;
  /** Whether it stays until somebody changes something, so that trying again cannot help. */
  readonly lasting: boolean;
};

/** What can be wrong with an engine, as far as what it printed tells. */
export const TROUBLES = {
  out_of_memory: { brief: 'there is not enough memory for it', lasting: false },
  port_taken: { brief: 'its port is in use', lasting: false },
  too_late: { brief: 'it was not ready in time', lasting: false },
  bad_flag: { brief: 'its engine does not take one of its flags', lasting: true },
  missing_program: { brief: 'the program that serves it is not installed', lasting: true },
  missing_file: { brief: 'a file it needs is missing or may not be read', lasting: true },
  bad_file: { brief: 'its model file cannot be used', lasting: true },
} as const satisfies Record<string, TroubleRow>;

export type Trouble = keyof typeof TROUBLES;

/** Why something went wrong with an engine. */
export type Why = {
  /** One line that an operator understands. */
  readonly reason: string;
  /** What kind of trouble it is, where that is known. */
  readonly trouble?: Trouble | undefined;
};

/** What those who asked for the model are told. The operator is told the reason itself. */
export function wordForClients({ trouble, during }: Failure): string {
  return trouble === undefined ? PLAIN[during] : TROUBLES[trouble].brief;
}

export const isLasting = ({ trouble }: Failure): boolean => trouble !== undefined && TROUBLES[trouble].lasting;

const PLAIN: Readonly<Record<FailedWhile, string>> = {
  starting: 'its engine did not start',
  waking: 'its engine did not wake',
  awake: 'its engine keeps dying',
  'falling-asleep': 'its engine was lost while it was put to sleep',
  asleep: 'its engine was lost in its sleep',
};
