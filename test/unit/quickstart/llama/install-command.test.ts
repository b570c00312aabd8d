import { test } from 'vitest';
import { installCommandFor } from '../../../../src/quickstart/llama/install-command.ts';

test.for([
  ['darwin', '', 'brew install llama.cpp'],
  ['win32', '', 'winget install llama.cpp'],
  ['linux', 'NAME=NixOS\nID=nixos\n', 'nix profile install nixpkgs#llama-cpp'],
  ['linux', 'ID=fedora\n', 'brew install llama.cpp'],
  ['linux', '', 'brew install llama.cpp'],
] as const)('on %s (%j) one installs with: %s', ([system, release, command], { expect }) => {
  expect(installCommandFor(system, release)).toBe(command);
});
