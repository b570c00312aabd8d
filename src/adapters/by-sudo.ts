/** Put before what only root may do, where catnap runs as somebody else. */
export const BY_SUDO = ['sudo', '-n', '--'] as const;
