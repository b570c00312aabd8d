/** `start`: a frame may begin, or nothing follows. The others name what comes next in a frame (RFC 8878, 3.1). */
type Place = 'start' | 'descriptor' | 'header' | 'block' | 'content' | 'skippable';

const FRAME = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
const CHECKSUM_BYTES = 4;
const DICTIONARY_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];
const RLE = 1;

/**
 * Follows the frames of zstd data without unpacking it, to tell whether it ends where a frame ends: not every Node's own reader
 * notices that data stops short. Whether the data is right is the reader's to say.
 */
export class ZstdFrames {
  #place: Place = 'start';
  /** How many bytes of this place are still to come, and the ones that came where they matter. */
  #left = 4;
  #taken = 0;
  #shift = 0;
  #checksum = false;
  #last = false;

  /** Whether what came so far may be all of it. */
  get whole(): boolean {
    return this.#place === 'start' && this.#left === 4;
  }

  feed(data: Buffer): void {
    let at = 0;
    while (at < data.length) {
      if (this.#place === 'header' || this.#place === 'content') {
        const step = Math.min(this.#left, data.length - at);
        this.#left -= step;
        at += step;
      } else {
        this.#taken += (data[at] ?? 0) * 2 ** this.#shift;
        this.#shift += 8;
        this.#left -= 1;
        at += 1;
      }
      while (this.#left === 0) this.#next();
    }
  }

  #next(): void {
    const taken = this.#taken;
    switch (this.#place) {
      case 'start':
        if (taken === FRAME) return this.#expect('descriptor', 1);
        return this.#expect('skippable', (taken & 0xfffffff0) >>> 0 === SKIPPABLE ? 4 : Number.POSITIVE_INFINITY);
      case 'skippable':
        this.#last = true;
        this.#checksum = false;
        return this.#expect('content', taken);
      case 'descriptor': {
        const single = (taken & 0x20) !== 0;
        const size = taken >> 6 === 0 && single ? 1 : (CONTENT_SIZE_BYTES[taken >> 6] ?? 0);
        this.#checksum = (taken & 0x04) !== 0;
        return this.#expect('header', (single ? 0 : 1) + (DICTIONARY_BYTES[taken & 0x03] ?? 0) + size);
      }
      case 'header':
        return this.#expect('block', 3);
      case 'block': {
        this.#last = (taken & 1) === 1;
        const size = ((taken >> 1) & 3) === RLE ? 1 : taken >> 3;
        return this.#expect('content', size + (this.#last && this.#checksum ? CHECKSUM_BYTES : 0));
      }
      case 'content':
        return this.#last ? this.#expect('start', 4) : this.#expect('block', 3);
    }
  }

  #expect(place: Place, bytes: number): void {
    this.#place = place;
    this.#left = bytes;
    this.#taken = 0;
    this.#shift = 0;
  }
}
