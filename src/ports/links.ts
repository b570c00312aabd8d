/** Ways on which memory moves when an engine sleeps and wakes. */
export type Link = 'disk write' | 'disk read' | 'memory copy' | 'PCIe' | 'page cache read';

/** How fast they are here. Measured when asked, once each, with a bounded amount of data. */
export interface Links {
  /** In MiB per second; undefined where it cannot be told. PCIe is that of the GPU with this UUID, and of the slowest where none is named. */
  rate(link: Link, gpu?: string): Promise<number | undefined>;
}
