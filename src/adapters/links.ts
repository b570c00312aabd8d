import { randomBytes } from 'node:crypto';
import { mkdir, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Link, Links } from '../ports/links.ts';
import type { Processes } from '../ports/process.ts';

type Means = {
  readonly processes: Pick<Processes, 'ask'>;
  /** The nvidia-smi program; undefined where there is none. */
  readonly nvidiaSmi: string | undefined;
  /** Where images are written. */
  readonly folder: string;
  /** A file that an engine reads at its start. */
  readonly modelFile: string | undefined;
};

const MIB = 1_048_576;
/** As much is written, read and copied to see how fast it goes. */
const SAMPLE_MIB = 128;
const CHUNK = 4 * MIB;
const COPIES = 5;
const SMI_MS = 10_000;
const READ_MS = 60_000;

/** MiB per second of one lane, by the generation of PCIe. */
const LANE: Readonly<Record<string, number>> = { 1: 238, 2: 477, 3: 939, 4: 1_878, 5: 3_756, 6: 7_212 };

/** The links of this machine. What cannot be measured is left out; nothing of it stays. */
export class SystemLinks implements Links {
  readonly #means: Means;
  readonly #known = new Map<Link, Promise<number | undefined>>();

  constructor(means: Means) {
    this.#means = means;
  }

  async rate(link: Link, gpu?: string): Promise<number | undefined> {
    if (link === 'PCIe') {
      const lanes = await (this.#gpus ??= this.#pcie().catch(() => new Map<string, number>()));
      if (gpu !== undefined) return lanes.get(gpu);
      return lanes.size === 0 ? undefined : Math.min(...lanes.values());
    }
    const known = this.#known.get(link) ?? this.#measure(link).catch(() => undefined);
    this.#known.set(link, known);
    return known;
  }

  #measure(link: Exclude<Link, 'PCIe'>): Promise<number | undefined> {
    switch (link) {
      case 'disk write':
        return this.#disk().then(({ write }) => write);
      case 'disk read':
        return this.#disk().then(({ read }) => read);
      case 'memory copy':
        return Promise.resolve(copyRate());
      case 'page cache read':
        return this.#pageCache();
      default:
        return link satisfies never;
    }
  }

  #gpus: Promise<ReadonlyMap<string, number>> | undefined;

  #both: Promise<{ write: number; read: number | undefined }> | undefined;

  #disk(): Promise<{ write: number; read: number | undefined }> {
    this.#both ??= this.#writeAndRead();
    return this.#both;
  }

  async #writeAndRead(): Promise<{ write: number; read: number | undefined }> {
    const { folder } = this.#means;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < 4 * SAMPLE_MIB * MIB) throw new Error('there is too little room to try');
    const path = join(folder, `catnap-speed.${randomBytes(4).toString('hex')}`);
    try {
      const chunk = randomBytes(CHUNK);
      const file = await open(path, 'wx', 0o600);
      const from = performance.now();
      for (let at = 0; at < SAMPLE_MIB * MIB; at += CHUNK) await file.write(chunk, 0, CHUNK, at);
      await file.datasync();
      const write = rateSince(from, SAMPLE_MIB);
      await file.close();
      return { write, read: await this.#readPastCache(path) };
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Around the page cache, which takes buffers that begin with a page: dd has them. */
  async #readPastCache(path: string): Promise<number | undefined> {
    const from = performance.now();
    const argv = ['dd', `if=${path}`, 'of=/dev/null', `bs=${CHUNK}`, 'iflag=direct'] as const;
    const { code } = await this.#means.processes.ask(argv, READ_MS);
    return code === 0 ? rateSince(from, SAMPLE_MIB) : undefined;
  }

  /** What was read a moment ago is read again. */
  async #pageCache(): Promise<number | undefined> {
    const { modelFile } = this.#means;
    if (modelFile === undefined) return undefined;
    const file = await open(modelFile, 'r');
    try {
      const buffer = Buffer.alloc(CHUNK);
      let rate: number | undefined;
      for (let round = 0; round < 2; round += 1) {
        const from = performance.now();
        let bytes = 0;
        while (bytes < SAMPLE_MIB * MIB) {
          const { bytesRead } = await file.read(buffer, 0, CHUNK, bytes);
          if (bytesRead === 0) break;
          bytes += bytesRead;
        }
        if (bytes < MIB) return undefined;
        rate = rateSince(from, bytes / MIB);
      }
      return rate;
    } finally {
      await file.close();
    }
  }

  /** What the connection of each GPU can do at best; idle ones are clocked down, so what it is now tells nothing. */
  async #pcie(): Promise<ReadonlyMap<string, number>> {
    const { processes, nvidiaSmi } = this.#means;
    if (nvidiaSmi === undefined) return new Map();
    const query = '--query-gpu=uuid,pcie.link.gen.max,pcie.link.width.max';
    const { code, output } = await processes.ask([nvidiaSmi, query, '--format=csv,noheader,nounits'], SMI_MS);
    if (code !== 0) return new Map();
    const rates = output.split('\n').flatMap((line) => {
      const [uuid = '', generation = '', width = ''] = line.split(',').map((cell) => cell.trim());
      const lane = LANE[generation];
      return lane === undefined || !/^\d+$/.test(width) ? [] : [[uuid, lane * Number(width)] as const];
    });
    return new Map(rates);
  }
}

function copyRate(): number {
  const [from, to] = [Buffer.alloc(SAMPLE_MIB * MIB, 1), Buffer.alloc(SAMPLE_MIB * MIB, 2)];
  const rates = Array.from({ length: COPIES }, () => {
    const began = performance.now();
    from.copy(to);
    return rateSince(began, SAMPLE_MIB);
  });
  return Math.max(...rates);
}

const rateSince = (from: number, mib: number): number => mib / (Math.max(performance.now() - from, 0.01) / 1_000);
