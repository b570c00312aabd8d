import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { systemClock } from '../../../src/adapters/system-clock.ts';
import { readTlsPair, watchTlsFiles, type TlsPair } from '../../../src/adapters/tls-files.ts';
import { makeCertificate } from '../../helpers/certificate.ts';
import { folderWith } from '../../helpers/config.ts';
import { waitFor } from '../../helpers/wait-for.ts';

const [one, two] = [makeCertificate('one'), makeCertificate('two')];

describe('a certificate and its key', () => {
  test.for<[string, Record<string, string>, RegExp | undefined]>([
    ['that fit', { cert: one.cert, key: one.key }, undefined],
    ['in one file each, with more below', { cert: one.cert + two.cert, key: one.key }, undefined],
    [
      'of another one',
      { cert: one.cert, key: two.key },
      /tls\.key \(.*\) is not the key of the certificate in tls\.cert/,
    ],
    ['without the key', { cert: one.cert }, /tls\.key \(.*\) cannot be read: ENOENT/],
    ['with the two swapped', { cert: one.key, key: one.cert }, /tls\.cert \(.*\) holds no certificate in PEM/],
    ['with a key that is none', { cert: one.cert, key: 'sk-secret' }, /tls\.key \(.*\) holds no private key in PEM/],
    ['as large as a book', { cert: one.cert + ' '.repeat(2_000_000), key: one.key }, /tls\.cert .* larger than any/],
  ])('%s', async ([, files, wrong], { expect }) => {
    using folder = folderWith(files);
    const read = readTlsPair({ cert: folder.file('cert'), key: folder.file('key') });
    if (wrong === undefined) expect(await read).toEqual(files);
    else {
      await expect(read).rejects.toThrow(wrong);
      await expect(read).rejects.not.toThrow(/sk-secret|PRIVATE/);
    }
  });

  test('are read again when they have changed, and kept when the new ones do not fit', async ({
    expect,
    onTestFinished,
  }) => {
    using folder = folderWith({ cert: one.cert, key: one.key });
    const [cert, key] = [folder.file('cert'), folder.file('key')];
    const changed: TlsPair[] = [];
    const failed: string[] = [];
    let asked = 0;
    const real = systemClock();
    const clock: typeof real = {
      now: () => real.now(),
      wallTime: () => real.wallTime(),
      at: (when, run) => {
        asked += 1;
        return real.at(when, run);
      },
    };
    const stop = watchTlsFiles(
      { cert, key },
      { everyMs: 5, clock, changed: (pair) => changed.push(pair), failed: (why) => failed.push(why) },
    );
    onTestFinished(stop);
    await waitFor('it to have looked', () => asked > 2);
    expect([changed, failed]).toEqual([[], []]);
    // One file at a time, as a careless tool would.
    writeFileSync(`${cert}.new`, two.cert);
    renameSync(`${cert}.new`, cert);
    await waitFor('the half of it to be seen', () => failed.length > 0);
    expect(failed[0]).toContain('is not the key of');
    const before = asked;
    await waitFor('it to have looked again', () => asked > before + 2);
    expect(failed).toHaveLength(1);
    writeFileSync(`${key}.new`, two.key);
    renameSync(`${key}.new`, key);
    await waitFor('the whole to be seen', () => changed.length > 0);
    expect(changed).toEqual([two]);
    rmSync(cert);
    await waitFor('the loss to be seen', () => failed.length > 1);
    stop();
    expect(changed).toHaveLength(1);
  });
});
