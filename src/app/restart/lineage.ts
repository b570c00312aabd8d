import { channelToParent, forkScript } from '../../adapters/ipc.ts';
import { ChildLine } from './child-line.ts';
import { ParentLine } from './parent-line.ts';
import type { Line } from './said.ts';
import { Taking } from './taking.ts';

/** In the environment of a catnap that is to take over: a channel alone may also be some process manager's. */
const SUCCEEDS = 'CATNAP_SUCCEEDS';

/** Where this process stands in the line of catnaps. */
export type Lineage = {
  /** Undefined: there is no launcher that another one could be made with. */
  readonly line: Line | undefined;
  /** Set in the process that was started first. */
  readonly parent: ParentLine | undefined;
  /** Set where there is a catnap to take over from. */
  readonly taking: Taking | undefined;
  /** Lets the event loop run empty. */
  readonly close: () => void;
};

/** `lost` is called when the process that was started first is gone. */
export function lineageOf(launcher: string | undefined, version: string, lost: () => void): Lineage {
  const succeeds = process.env[SUCCEEDS] !== undefined;
  delete process.env[SUCCEEDS];
  const own: { line?: ChildLine } = {};
  const gone = (): void => {
    own.line?.lost();
    lost();
  };
  const channel = succeeds ? channelToParent(gone) : undefined;
  if (channel !== undefined) {
    const line = (own.line = new ChildLine(channel));
    const taking = new Taking(line, version);
    return { line, taking, parent: undefined, close: () => line.close() };
  }
  const none = { taking: undefined, close: () => {} };
  if (launcher === undefined) return { ...none, line: undefined, parent: undefined };
  const parent = new ParentLine(() => forkScript(launcher, process.argv.slice(2), { [SUCCEEDS]: '1' }));
  return { ...none, line: parent, parent };
}
