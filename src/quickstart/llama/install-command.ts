import { readFile } from 'node:fs/promises';
import { platform } from 'node:os';

/** The one command that installs llama-server on this system. */
export async function installCommand(): Promise<string> {
  return installCommandFor(platform(), await readFile('/etc/os-release', 'utf8').catch(() => ''));
}

export function installCommandFor(system: string, osRelease: string): string {
  if (system === 'win32') return 'winget install llama.cpp';
  if (system === 'linux' && /^ID=nixos$/m.test(osRelease)) return 'nix profile install nixpkgs#llama-cpp';
  // Homebrew has it for macOS and for Linux.
  return 'brew install llama.cpp';
}
