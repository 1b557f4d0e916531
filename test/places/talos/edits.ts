import { Document, parseAllDocuments } from 'yaml';

/** How a configuration differs from another one. */
export interface Edit {
  /** Fields of the first document, by path; undefined removes one. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Documents that are added. */
  readonly and?: string;
  /** Changes the text, after the others. */
  readonly edit?: (text: string) => string;
}

/** The text of the changed configuration. */
export function edited(original: string, { set = {}, and, edit }: Edit): string {
  const documents = parseAllDocuments(original);
  const [main = new Document({})] = documents;
  for (const [path, value] of Object.entries(set)) {
    if (value === undefined) main.deleteIn(path.split('.'));
    else main.setIn(path.split('.'), main.createNode(value));
  }
  const text = documents.map((document) => document.toString()).join('---\n');
  const whole = and === undefined ? text : `${text}---\n${and}`;
  return edit ? edit(whole) : whole;
}
