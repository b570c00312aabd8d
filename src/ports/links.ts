/** Ways on which memory moves when an engine sleeps and wakes. */
export type Link = 'disk write' | 'disk read' | 'memory copy' | 'PCIe' | 'page cache read';

/** How fast they are here. Measured when asked, once each, with a bounded amount of data. */
export interface Links {
  /** In MiB per second; undefined where it cannot be told. */
  rate(link: Link): Promise<number | undefined>;
}
