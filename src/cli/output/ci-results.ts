import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { printable } from '../../text/printable.ts';
import { VERSION } from '../../version.ts';
import { asJson } from './format.ts';

/** A location in a file. */
export interface SourcePlace {
  readonly file: string;
  /** Both start at 1. Undefined for JSON that is too large to count its lines. */
  readonly line: number | undefined;
  readonly column: number | undefined;
}

/** One finding that a pipeline shows. */
export interface CiResult extends SourcePlace {
  readonly level: 'error' | 'warning' | 'note';
  /** The id of its rule. */
  readonly rule: string;
  /** The subject, such as a field. */
  readonly subject: string;
  /** Lines. */
  readonly text: string;
  /** Additional properties for programs. */
  readonly properties: Readonly<Record<string, string>>;
}

export interface CiRule {
  readonly id: string;
  readonly about: string;
}

/** The place in `file:line:column`. */
export function placeIn(text: string): SourcePlace {
  const [suffix = '', line, column] = /:(\d+):(\d+)$/.exec(text) ?? [];
  return {
    file: text.slice(0, text.length - suffix.length),
    line: line ? Number(line) : undefined,
    column: column ? Number(column) : undefined,
  };
}

interface Platform {
  /** Whether the paths of files are those of Windows. */
  readonly isWindows: boolean;
}

const HERE: Platform = { isWindows: path === path.win32 };

/** Annotations of GitHub Actions, whose paths have slashes on every system. */
export function asAnnotations(results: readonly CiResult[], platform: Platform = HERE): string {
  return results
    .map(({ file, line, column, level, rule, subject, text }) =>
      workflowCommand(
        level === 'note' ? 'notice' : level,
        { file: withSlashes(file, platform), line, col: column, title: `${rule}: ${subject}` },
        text,
      ),
    )
    .join('');
}

/** A workflow command of GitHub Actions: `::error file=F,line=1,col=2,title=T::MESSAGE`. */
export function workflowCommand(
  command: string,
  properties: Readonly<Record<string, string | number | undefined>>,
  message: string,
): string {
  const written = Object.entries(properties)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`);
  return `::${command} ${written.join(',')}::${escapeData(message)}\n`;
}

function escapeData(text: string): string {
  return text
    .split('\n')
    .map((line) => printable(line).replaceAll('%', '%25'))
    .join('%0A');
}

/**
 * SARIF 2.1.0, with the fields that viewers read.
 * @param tool such as `taintkeeper review`
 * @param rules the rules that results may name
 */
export function asSarif(
  tool: string,
  rules: readonly CiRule[],
  results: readonly CiResult[],
  platform: Platform = HERE,
): string {
  return asJson({
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: tool,
            version: VERSION,
            rules: rules.map(({ id, about }) => ({ id, shortDescription: { text: about } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: results.map(({ file, line, column, level, rule, subject, text, properties }) => ({
          ruleId: rule,
          ruleIndex: rules.findIndex(({ id }) => id === rule),
          level,
          message: { text: `${subject}: ${text}` },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(file, platform) },
                ...(line === undefined ? {} : { region: { startLine: line, startColumn: column } }),
              },
            },
          ],
          properties,
        })),
      },
    ],
  });
}

/** Relative to the working directory, as code scanning requires. Absolute paths stay absolute. */
function uriOf(file: string, platform: Platform): string {
  const { isWindows } = platform;
  if ((isWindows ? path.win32 : path.posix).isAbsolute(file)) return pathToFileURL(file, { windows: isWindows }).href;
  return withSlashes(file, platform)
    .replace(/^(\.\/)+/, '')
    .split('/')
    .map(encodeURIComponent)
    .join('/');
}

/** Elsewhere than on Windows, a backslash is part of a name. */
function withSlashes(file: string, { isWindows }: Platform): string {
  return isWindows ? file.replaceAll('\\', '/') : file;
}
