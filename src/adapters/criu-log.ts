/** Finds, in what criu logged, the line that says why it failed. */

type Cause = { readonly pattern: RegExp; readonly gist: string };

/** What a line means for an operator, put before it. */
const CAUSES: readonly Cause[] = [
  {
    pattern: /External socket is used|Can't dump half of stream unix|pipe.*external|external.*pipe/i,
    gist: 'it is connected to a process outside of it, which a checkpoint cannot hold',
  },
  {
    pattern: /io_uring|Unknown shit 600/,
    gist: 'it uses io_uring, which cannot be checkpointed; switch that off in it',
  },
  {
    pattern: /Can't fork for \d+: File exists|Unable to create a thread: -17/,
    gist: 'a process number it needs is in use by another process',
  },
  { pattern: /Can't bind inet socket.*Address already in use/, gist: 'its port is in use by another program' },
  {
    pattern: /bad build-?id/i,
    gist: 'a program or library it runs was changed while it was on disk',
  },
  {
    pattern: /has bad (size|mode)|Can't open file .*No such file|Can't open file .*on restore/,
    gist: 'a file it has open was changed or removed while it was on disk',
  },
  { pattern: /No space left on device|File too large|Disk quota exceeded/, gist: 'there is no room for the image' },
  { pattern: /ghost file .* increase limit/, gist: 'it holds a large file open that was deleted' },
  { pattern: /not a session leader/, gist: 'it does not lead a session of its own' },
  { pattern: /Connected TCP socket/, gist: 'it has an open connection' },
  {
    pattern: /CAP_SYS_ADMIN|CAP_CHECKPOINT_RESTORE|Operation not permitted.*(ptrace|seize)|unable to seize/i,
    gist: 'criu lacks the rights for it',
  },
  { pattern: /Missing required plugin/, gist: 'it was saved with a plugin that is not there now' },
];

/** Complaints that are there when all is well, too. */
const NOISE = /Can't setup RLIMIT_NOFILE|Could not find restore thread|^(Dumping|Restoring) FAILED/;

const ERROR_LINE = /^(?:\(\d+\.\d+\)\s*)?(?:pie: )?(?:\s*\d+: )?Error \([^)]*\): (.*)$/;

const LONGEST = 300;

/** Every complaint, in order, without stamps. */
export function complaintsIn(log: string): string[] {
  return log
    .split('\n')
    .flatMap((line) => ERROR_LINE.exec(line.trim())?.[1] ?? [])
    .filter((line) => !NOISE.test(line))
    .map((line) => line.trim().slice(0, LONGEST));
}

/** The reason in one line: the first complaint that is known for what it means, else the first, since the rest follow from it. */
export function reasonIn(log: string): string | undefined {
  const complaints = complaintsIn(log);
  for (const line of complaints) {
    const cause = CAUSES.find(({ pattern }) => pattern.test(line));
    if (cause !== undefined) return `${cause.gist}: ${line}`;
  }
  return complaints[0];
}
