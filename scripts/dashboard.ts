import { type Panel, ROWS } from './dashboard-panels.ts';

/** Grafana's grid is 24 columns wide. */
const COLUMNS = 24;
const SIZES = { stat: { w: 4, h: 4 }, timeseries: { w: 8, h: 8 }, table: { w: 8, h: 8 } } as const;
// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana fills it in.
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

/** `manifests/monitoring/dashboard.json`, for Grafana 10 or newer. */
export function dashboard(): string {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: ofRow } of ROWS) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    for (const [index, panel] of ofRow.entries()) {
      const { w, h } = SIZES[panel.type];
      panels.push(panelJson(panel, panels.length + 1, { x, y, w, h }));
      x += w;
      if (x + w > COLUMNS || index === ofRow.length - 1) {
        x = 0;
        y += h;
      }
    }
  }
  const all = {
    uid: 'taintkeeper',
    title: 'taintkeeper',
    tags: ['taintkeeper', 'kubernetes'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    timezone: 'browser',
    time: { from: 'now-6h', to: 'now' },
    refresh: '30s',
    templating: { list: VARIABLES },
    annotations: { list: [] },
    links: [],
    panels,
  };
  return `${JSON.stringify(all, null, 2)}\n`;
}

const VARIABLES = [
  { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1, hide: 0 },
  {
    name: 'namespace',
    label: 'Namespace',
    type: 'query',
    datasource: DATASOURCE,
    definition: 'label_values(taintkeeper_build_info, namespace)',
    query: { query: 'label_values(taintkeeper_build_info, namespace)', refId: 'namespace' },
    refresh: 2,
    includeAll: true,
    multi: false,
    // Also for targets that have no such label, as those of a Prometheus outside of the cluster.
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
    hide: 0,
  },
];

function panelJson({ title, about, type, unit, queries, red }: Panel, id: number, gridPos: object): object {
  return {
    id,
    type,
    title,
    description: about,
    datasource: DATASOURCE,
    gridPos,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend === '' ? '__auto' : legend,
      ...(type === 'timeseries' ? { range: true } : { instant: true }),
      ...(type === 'table' ? { format: 'table' } : {}),
    })),
    fieldConfig: {
      defaults: {
        unit,
        ...(type === 'timeseries' ? { min: 0 } : {}),
        color: { mode: red ? 'thresholds' : 'palette-classic' },
        ...thresholds(red),
      },
      overrides: [],
    },
    options: OPTIONS[type],
    ...(type === 'table'
      ? { transformations: [{ id: 'organize', options: { excludeByName: { Time: true, Value: true } } }] }
      : {}),
  };
}

function thresholds(red: Panel['red']): object {
  if (!red) return {};
  const [low, high] = red.alarming === 'above' ? ['green', 'red'] : ['red', 'green'];
  return {
    thresholds: {
      mode: 'absolute',
      steps: [
        { color: low, value: null },
        { color: high, value: red.at },
      ],
    },
  };
}

const OPTIONS: Readonly<Record<Panel['type'], object>> = {
  stat: {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    colorMode: 'value',
    graphMode: 'none',
    textMode: 'auto',
  },
  timeseries: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  table: { showHeader: true },
};
