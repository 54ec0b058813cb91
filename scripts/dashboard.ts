/** The Grafana dashboard of the chart: a table of panels. */

const PANELS: readonly (readonly [title: string, unit: string, ...queries: readonly (readonly [expression: string, legend: string])[]])[] =
  [
    ['Waiting conversions', 'short', ['max by (pool) (filemill_pool_queued_orders{namespace="$namespace"})', '{{pool}}']],
    ['Running conversions', 'short', ['max by (pool) (filemill_pool_running_orders{namespace="$namespace"})', '{{pool}}']],
    ['Oldest waiting conversion', 's', ['max by (pool) (filemill_pool_oldest_queued_seconds{namespace="$namespace"})', '{{pool}}']],
    [
      'Workers',
      'short',
      ['max by (pool) (filemill_pool_live_workers{namespace="$namespace"})', '{{pool}}'],
      ['max by (pool) (filemill_pool_desired_workers{namespace="$namespace"})', '{{pool}}, desired'],
    ],
    ['Degraded pools', 'short', ['max by (pool) (filemill_pool_degraded{namespace="$namespace"})', '{{pool}}']],
    ['Jobs ended per second', 'ops', ['sum by (status) (rate(filemill_jobs_ended_total{namespace="$namespace"}[5m]))', '{{status}}']],
    [
      'Time of a conversion, 99th percentile',
      's',
      [
        'histogram_quantile(0.99, sum by (le, engine) (rate(filemill_conversion_seconds_bucket{namespace="$namespace"}[5m])))',
        '{{engine}}',
      ],
    ],
    [
      'Time of a request, 99th percentile',
      's',
      [
        'histogram_quantile(0.99, sum by (le, route) (rate(filemill_http_request_seconds_bucket{namespace="$namespace"}[5m])))',
        '{{route}}',
      ],
    ],
  ];

/** Fields of Grafana's JSON model (https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model). */
export function dashboard(): object {
  const datasource = { type: 'prometheus', uid: '$datasource' };
  return {
    title: 'filemill',
    uid: 'filemill',
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        { name: 'namespace', type: 'query', datasource, query: 'label_values(filemill_pool_degraded, namespace)' },
      ],
    },
    panels: PANELS.map(([title, unit, ...queries], index) => ({
      id: index + 1,
      title,
      type: 'timeseries',
      datasource,
      gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 8, w: 12, h: 8 },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: queries.map(([expr, legendFormat], at) => ({ refId: String.fromCharCode(65 + at), datasource, expr, legendFormat })),
    })),
  };
}
