import { METRICS, type MetricRow } from '../../src/observe/metric-table.ts';
import { code, page, table } from './markdown.ts';

/** docs/metrics.md: every metric that catnap keeps. */
export const metricsPage = (): string =>
  page(
    '# Metrics',
    'Prometheus reads these from `metrics_port` and from `/metrics` on the main port. Times are in seconds. Besides them there are the usual `process_` and `nodejs_` metrics of catnap itself.',
    table(['Metric', 'Type', 'Labels', 'Meaning'], METRICS.map(row)),
    '## Buckets',
    table(
      ['Histogram', 'Upper bounds in seconds'],
      METRICS.flatMap(({ name, buckets }) => (buckets === undefined ? [] : [[code(name), buckets.join(', ')]])),
    ),
  );

const row = ({ name, type, labels, help }: MetricRow): string[] => [
  code(name),
  type,
  labels.map(code).join(', '),
  help,
];
