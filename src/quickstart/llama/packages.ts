/** A program that can be had from Debian packages without installing them. */
export type PackageSet = {
  /** The folder under the cache that it is kept in. */
  readonly name: string;
  /** Its executables, in usr/bin or usr/sbin of the packages. */
  readonly executables: readonly string[];
  /** The packages that are unpacked: the program's and those of its shared libraries, down to libc. */
  readonly packages: readonly string[];
  /** The folders whose shared libraries are needed, inside the packages. */
  readonly libraryFolders: RegExp;
  readonly downloadMb: number;
};

/** The suite that has them. Older Debian systems run its programs through its own loader and libc. */
export const SUITE = 'forky';

export const LLAMA_SERVER: PackageSet = {
  name: 'llama-server',
  executables: ['llama-server'],
  packages: [
    'libc6',
    'libgcc-s1',
    'libstdc++6',
    'libgomp1',
    'libssl3t64',
    'zlib1g',
    'libzstd1',
    'libggml0',
    'libllama0',
    'llama.cpp-tools',
  ],
  libraryFolders: /^(usr\/)?lib\/x86_64-linux-gnu(\/llama|\/ggml\/backends\d+)?$/,
  downloadMb: 22,
};
