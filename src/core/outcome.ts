/** How a request can end. The list is closed: each request ends in exactly one of these and is counted once. */
export const OUTCOMES = {
  served: 'the engine answered to the end, whatever its status was',
  rejected: 'refused before an engine had it whole: bad request, unknown model, lane full, shutting down',
  expired: 'waited longer than request_timeout_secs for its turn',
  abandoned: 'the client left while the request waited',
  aborted: 'the client left while the request was served',
  cancelled: 'an operator ended it, while it waited or while it was served',
  broken: 'the engine or its lease was lost after the first byte of the answer',
  failed: 'the engine could not be started or reached, or was lost before the first byte',
} as const;

export type Outcome = keyof typeof OUTCOMES;
