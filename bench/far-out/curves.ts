/** A line through measured points. */
export interface Panel {
  readonly title: string;
  /** At least two, by rising x. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

const WIDTH = 330;
const HEIGHT = 190;
/** Room for the title and the numbers of the axes, in pixels. */
const EDGE = { left: 44, right: 20, top: 30, bottom: 26 } as const;

/**
 * An SVG of the panels, so many in a row. Axes begin at 0. The colours suit light and dark pages.
 * @param title for readers who do not see it
 */
export function drawCurves(title: string, panels: readonly Panel[], columns: number): string {
  const rows = Math.ceil(panels.length / columns);
  const drawn = panels.map(
    (panel, index) =>
      `<g transform="translate(${(index % columns) * WIDTH} ${Math.floor(index / columns) * HEIGHT})">${draw(panel)}</g>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${columns * WIDTH} ${rows * HEIGHT}" font-family="sans-serif" font-size="11" fill="#808080">`,
    `<title>${title}</title>`,
    ...drawn,
    '</svg>',
    '',
  ].join('\n');
}

function draw({ title, points }: Panel): string {
  const [maxX, maxY] = [Math.max(...points.map(({ x }) => x)), Math.max(...points.map(({ y }) => y))];
  const right = WIDTH - EDGE.right;
  const bottom = HEIGHT - EDGE.bottom;
  const px = (x: number) => round(EDGE.left + (x / maxX) * (right - EDGE.left));
  const py = (y: number) => round(bottom - (y / maxY) * (bottom - EDGE.top));
  const marks = points.map(
    ({ x, y }) =>
      `<circle cx="${px(x)}" cy="${py(y)}" r="3" fill="#3b82f6"/>` +
      `<text x="${px(x)}" y="${bottom + 15}" text-anchor="middle">${x.toLocaleString('en')}</text>`,
  );
  return [
    `<text x="${EDGE.left}" y="16" font-size="12">${title}</text>`,
    `<path d="M${EDGE.left} ${EDGE.top}V${bottom}H${right}" fill="none" stroke="#808080"/>`,
    `<text x="${EDGE.left - 5}" y="${py(maxY) + 4}" text-anchor="end">${label(maxY)}</text>`,
    `<text x="${EDGE.left - 5}" y="${bottom + 4}" text-anchor="end">0</text>`,
    `<polyline points="${points.map(({ x, y }) => `${px(x)},${py(y)}`).join(' ')}" fill="none" stroke="#3b82f6" stroke-width="2"/>`,
    ...marks,
  ].join('');
}

const round = (value: number) => Math.round(value * 10) / 10;
const label = (value: number) => (value < 10 ? value.toFixed(1) : value.toFixed(0));
