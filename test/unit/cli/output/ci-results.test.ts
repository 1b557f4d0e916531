import { describe, expect, it } from 'vitest';
import { asAnnotations, asSarif, type CiResult } from '../../../../src/cli/output/ci-results.ts';

const inFile = (file: string): CiResult => ({
  file,
  line: 1,
  column: 2,
  level: 'error',
  rule: 'r',
  subject: 's',
  text: 't',
  properties: {},
});

const CASES: readonly {
  readonly file: string;
  readonly isWindows: boolean;
  uri: string;
  shown: string;
  why: string;
}[] = [
  {
    why: 'a backslash is a separator on Windows',
    file: 'talos\\gpu node.yaml',
    isWindows: true,
    uri: 'talos/gpu%20node.yaml',
    shown: 'talos/gpu node.yaml',
  },
  {
    why: 'Windows takes both separators',
    file: '.\\talos/gpu.yaml',
    isWindows: true,
    uri: 'talos/gpu.yaml',
    shown: './talos/gpu.yaml',
  },
  {
    why: 'a parent directory stays relative',
    file: '..\\gpu.yaml',
    isWindows: true,
    uri: '../gpu.yaml',
    shown: '../gpu.yaml',
  },
  {
    why: 'a drive is no scheme',
    file: 'C:\\nodes\\100%.yaml',
    isWindows: true,
    uri: 'file:///C:/nodes/100%25.yaml',
    shown: 'C%3A/nodes/100%25.yaml',
  },
  {
    why: 'a share has a host',
    file: '\\\\server\\share\\x.yaml',
    isWindows: true,
    uri: 'file://server/share/x.yaml',
    shown: '//server/share/x.yaml',
  },
  {
    why: 'elsewhere, a backslash is part of a name',
    file: './a/b\\c.yaml',
    isWindows: false,
    uri: 'a/b%5Cc.yaml',
    shown: './a/b\\c.yaml',
  },
  {
    why: 'an absolute path stays absolute',
    file: '/nodes/C:x#.yaml',
    isWindows: false,
    uri: 'file:///nodes/C:x%23.yaml',
    shown: '/nodes/C%3Ax#.yaml',
  },
];

describe('the file of a result', () => {
  it.each(CASES)('in SARIF, $file is $uri: $why', ({ file, isWindows, uri }) => {
    const { runs } = JSON.parse(asSarif('tool', [{ id: 'r', about: 'a' }], [inFile(file)], { isWindows }));
    expect(runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri).toBe(uri);
  });

  it.each(CASES)('in annotations, $file is $shown: $why', ({ file, isWindows, shown }) => {
    expect(asAnnotations([inFile(file)], { isWindows })).toBe(`::error file=${shown},line=1,col=2,title=r%3A s::t\n`);
  });
});
