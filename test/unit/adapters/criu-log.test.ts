import { describe, test } from 'vitest';
import { complaintsIn, reasonIn } from '../../../src/adapters/criu-log.ts';

const NOISE =
  "(00.060430) Error (criu/util.c:1534): rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted";
const DUMP_FAILED = '(00.197343) Error (criu/cr-dump.c:1975): Dumping FAILED.';
const RESTORE_FAILED = '(00.061815) Error (criu/cr-restore.c:2331): Restoring FAILED.';

/** What criu 4.2 logs, as it was seen. */
describe('the reason is found among what follows from it, and what it means is said', () => {
  test.for([
    [
      'a file with another size',
      [
        '(00.061656)  16981: Error (criu/files-reg.c:2175): File srv/engine.log has bad size 0 (expect 1738)',
        '(00.061657)  16981: Error (criu/files.c:1221): Unable to open fd=1 id=0x15',
        RESTORE_FAILED,
      ],
      'a file it has open was changed or removed while it was on disk: File srv/engine.log has bad size 0 (expect 1738)',
    ],
    [
      'a file that is gone',
      [
        "(00.072901)  17126: Error (criu/files-reg.c:2353): Can't open file srv/engine.log on restore: No such file or directory",
        RESTORE_FAILED,
      ],
      "a file it has open was changed or removed while it was on disk: Can't open file srv/engine.log on restore: No such file or directory",
    ],
    [
      'a port',
      [
        "(00.118161)  17242: Error (criu/sk-inet.c:1059): inet: Can't bind inet socket (id 22): Address already in use",
        '(00.118830) Error (criu/cr-restore.c:1265): 17242 exited, status=1',
        RESTORE_FAILED,
      ],
      "its port is in use by another program: inet: Can't bind inet socket (id 22): Address already in use",
    ],
    [
      'the number of a process',
      ["(00.120483) Error (criu/cr-restore.c:1237): Can't fork for 17413: File exists", RESTORE_FAILED],
      "a process number it needs is in use by another process: Can't fork for 17413: File exists",
    ],
    [
      'the number of a thread',
      [
        '(00.276489) pie: 17512: Error (criu/pie/restorer.c:2185): Unable to create a thread: -17',
        '(00.276491) pie: 17512: Error (criu/pie/restorer.c:2332): Restorer fail 17512',
        RESTORE_FAILED,
      ],
      'a process number it needs is in use by another process: Unable to create a thread: -17',
    ],
    [
      'a full disk',
      [
        '(00.194682) Error (criu/page-xfer.c:263): page-xfer: Unable to spice data: No space left on device',
        '(00.194703) Error (criu/bfd.c:131): bfd: Error flushing image: No space left on device',
        DUMP_FAILED,
      ],
      'there is no room for the image: page-xfer: Unable to spice data: No space left on device',
    ],
    [
      'pipes to others',
      ["(00.05) Error (criu/sk-unix.c:1): unix: Can't dump half of stream unix connection.", DUMP_FAILED],
      "it is connected to a process outside of it, which a checkpoint cannot hold: unix: Can't dump half of stream unix connection.",
    ],
    [
      'io_uring',
      ['(00.05) Error (criu/files.c:1): Unknown shit 600 (anon_inode:[io_uring])', DUMP_FAILED],
      'it uses io_uring, which cannot be checkpointed; switch that off in it: Unknown shit 600 (anon_inode:[io_uring])',
    ],
    ['what is not known', ['(00.05) Error (criu/mem.c:1): something new', DUMP_FAILED], 'something new'],
  ] as const)('%s', ([, lines, reason], { expect }) => {
    expect(reasonIn([NOISE, '(00.01) Warn  (criu/x.c:1): a warning', ...lines].join('\n'))).toBe(reason);
  });
});

test('of a log without a complaint nothing is made up', ({ expect }) => {
  expect(reasonIn(`${NOISE}\n(00.1) Warn  (criu/x.c:1): a warning\n${DUMP_FAILED}\n`)).toBeUndefined();
  expect(reasonIn('')).toBeUndefined();
});

test('a complaint of any length is cut', ({ expect }) => {
  expect(complaintsIn(`(00.05) Error (criu/mem.c:1): ${'x'.repeat(5_000)}`)).toEqual(['x'.repeat(300)]);
});
