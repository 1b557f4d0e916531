import type { SourceDocument } from '../files/documents.ts';
import { InputError } from '../files/input-error.ts';
import { isMapping, type Mapping, valueAt } from '../kubernetes/json.ts';
import { parseTalosDocuments } from './document-values.ts';

/** The output of `talosctl get machineconfig -o yaml`: a resource, whose spec is the configuration as text. */
const RESOURCE_TYPE = 'MachineConfigs.config.talos.dev';
/** The configuration in force. There is also the one on disk (`persistent`), which may be staged. */
const ACTIVE = 'v1alpha1';

/**
 * The documents of a text. For a live machine's configuration, without the resource around them. They keep their places in the text.
 * @param documents of the text
 * @throws InputError where the text has the configurations of several machines
 */
export function unwrapped(documents: readonly SourceDocument[], text: string, source: string): SourceDocument[] {
  const resources = documents.filter(isResource);
  const active = resources.filter(({ value }) => valueAt(value, ['metadata', 'id']) === ACTIVE);
  const meant = active.length > 0 ? active : resources;
  if (meant.length > 1) {
    const places = meant.map((resource) => resource.locate([])).join(', ');
    throw new InputError([`${source}: these are ${meant.length} machines (${places}): give each a file of its own`]);
  }
  return documents.flatMap((document) => {
    if (!isResource(document)) return [document];
    return meant.includes(document) ? inside(document, text, source) : [];
  });
}

function isResource({ value }: SourceDocument): boolean {
  return isMapping(value) && valueAt(value, ['metadata', 'type']) === RESOURCE_TYPE && value.spec !== undefined;
}

function inside(resource: SourceDocument, text: string, source: string): SourceDocument[] {
  const { spec } = resource.value as Mapping;
  // Earlier versions of Talos print it without a resource.
  if (typeof spec !== 'string') {
    return [
      {
        value: spec,
        locate: (path) => resource.locate(['spec', ...path]),
        scalar: (path) => resource.scalar(['spec', ...path]),
        notation: (path) => resource.notation(['spec', ...path]),
      },
    ];
  }
  const inText = placeInside(resource.locate(['spec']), text);
  try {
    return parseTalosDocuments(spec, source).map((document) => ({
      ...document,
      locate: (path) => inText(document.locate(path)),
    }));
  } catch (error) {
    throw error instanceof InputError ? new InputError(error.faults.map(inText)) : error;
  }
}

const PLACE = /:(\d+):(\d+)(?=$|:)/;

/** From `file:line:column` in the spec to that in the text around it. @param spec the place of the spec */
function placeInside(spec: string, text: string): (place: string) => string {
  const line = Number(PLACE.exec(spec)?.[1]);
  const [header = '', ...content] = text.split('\n').slice(line - 1);
  const indent = content.find((each) => each.trim() !== '')?.search(/\S/) ?? 0;
  // Only the lines of a literal block keep their columns.
  if (!/:\s*\|[-+\d]*\s*$/.test(header)) return (place) => place.replace(PLACE, PLACE.exec(spec)?.[0] ?? '');
  return (place) => place.replace(PLACE, (_, inner, column) => `:${line + Number(inner)}:${indent + Number(column)}`);
}
