/** What a level needs to know of this machine. */
export interface Machine {
  /** Whether every process may be frozen without asking for more rights. */
  readonly isRoot: boolean;
  /** Which of these processes have a GPU of NVIDIA mapped. Those that cannot be looked at are not among them. */
  mapsGpu(pids: readonly number[]): Promise<readonly number[]>;
  /** How much host memory could be taken without swapping; undefined where the system does not tell. */
  availableMib(): Promise<number | undefined>;
}
