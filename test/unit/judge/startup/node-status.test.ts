import { describe, expect, it } from 'vitest';
import { projectNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import { allocatableBlockers } from '../../../../src/judge/startup/allocatable.ts';
import { conditionBlockers } from '../../../../src/judge/startup/conditions.ts';

/** A Node with this status, as the leader keeps it. */
const nodeWith = (status: object) => projectNode({ metadata: { name: 'n' }, status });

describe('a resource that must be allocatable', () => {
  const GPU = 'nvidia.com/gpu';
  const NONE = `resource ${GPU}: the node has none that is allocatable`;
  const blockers = (allocatable: unknown, resource = GPU) =>
    allocatableBlockers([{ resource }], nodeWith({ allocatable })).map(({ text, state }) => `${state} ${text}`);

  it.each<{ why: string; allocatable: unknown; holds: boolean }>([
    { why: 'as many as there are', allocatable: { [GPU]: '8' }, holds: true },
    { why: 'one', allocatable: { cpu: '4', [GPU]: '1' }, holds: true },
    { why: 'a part', allocatable: { [GPU]: '500m' }, holds: true },
    { why: 'none, as device plugins report before they are ready', allocatable: { [GPU]: '0' }, holds: false },
    { why: 'none, in another form', allocatable: { [GPU]: '0Ki' }, holds: false },
    { why: 'absent', allocatable: { cpu: '4', 'nvidia.com/mig': '7' }, holds: false },
    { why: 'no resources yet', allocatable: undefined, holds: false },
    { why: 'null', allocatable: null, holds: false },
    { why: 'not a quantity', allocatable: { [GPU]: 'many' }, holds: false },
  ])('$why: $holds', ({ allocatable, holds }) => {
    expect(blockers(allocatable)).toEqual(holds ? [] : [`Unmet ${NONE}`]);
  });

  it('may be huge pages of one size', () => {
    const allocatable = { 'hugepages-1Gi': '0', 'hugepages-2Mi': '64Mi' };
    expect(blockers(allocatable, 'hugepages-2Mi')).toEqual([]);
    expect(blockers(allocatable, 'hugepages-1Gi')).toHaveLength(1);
  });

  it('is one of several that must all be there', () => {
    const awaited = [{ resource: GPU }, { resource: 'example.com/fpga' }];
    expect(allocatableBlockers(awaited, nodeWith({ allocatable: { [GPU]: '8' } }))).toHaveLength(1);
    expect(allocatableBlockers(awaited, nodeWith({ allocatable: { [GPU]: '8', 'example.com/fpga': '1' } }))).toEqual(
      [],
    );
  });

  it('is kept of a node that names very many', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`z${index}.example/x`, '1']));
    const { resources = [] } = nodeWith({ allocatable: { ...many, [GPU]: '1' } });
    expect(resources.join('').length).toBeLessThan(10_000);
    expect(resources).toContain(GPU);
  });

  it('is kept of a node with a resource for each device, as Akri names them', () => {
    const devices = Array.from({ length: 100 }, (_, index) => [`akri.sh/akri-onvif-${100_000 + index}`, '1']);
    expect(blockers({ ...Object.fromEntries(devices), [GPU]: '1' })).toEqual([]);
  });
});

describe('a condition that the node must have', () => {
  const TYPE = 'example.com/NetworkReady';
  const blockers = (conditions: unknown, status?: 'True' | 'False' | 'Unknown') =>
    conditionBlockers([{ type: TYPE, ...(status ? { status } : {}) }], nodeWith({ conditions })).map(
      ({ text, state }) => `${state} ${text}`,
    );

  it.each<{ why: string; conditions: unknown; status?: 'False' | 'Unknown'; problem?: string }>([
    { why: 'True, which is the default', conditions: [{ type: TYPE, status: 'True' }] },
    { why: 'not True', conditions: [{ type: TYPE, status: 'False' }], problem: `${TYPE}=True: it is False` },
    { why: 'Unknown', conditions: [{ type: TYPE, status: 'Unknown' }], problem: `${TYPE}=True: it is Unknown` },
    { why: 'False where False is required', conditions: [{ type: TYPE, status: 'False' }], status: 'False' },
    {
      why: 'absent',
      conditions: [{ type: 'Ready', status: 'True' }],
      problem: `${TYPE}=True: the node does not have it`,
    },
    {
      why: 'absent, and False is required',
      conditions: [],
      status: 'False',
      problem: `${TYPE}=False: the node does not have it`,
    },
    {
      why: 'absent, and Unknown is required',
      conditions: undefined,
      status: 'Unknown',
      problem: `${TYPE}=Unknown: the node does not have it`,
    },
    { why: 'absent, without a list', conditions: null, problem: `${TYPE}=True: the node does not have it` },
  ])('$why', ({ conditions, status, problem }) => {
    expect(blockers(conditions, status)).toEqual(problem === undefined ? [] : [`Unmet condition ${problem}`]);
  });

  it('is not one that every object has', () => {
    expect(conditionBlockers([{ type: 'toString' }], nodeWith({ conditions: [] }))).toHaveLength(1);
  });

  it('is kept of a node with the conditions of two node problem detectors, whichever place it has', () => {
    const others = Array.from({ length: 64 }, (_, index) => ({
      type: `FrequentContainerdRestart${index}`,
      status: 'False',
    }));
    expect(blockers([...others, { type: TYPE, status: 'True' }])).toEqual([]);
  });

  it('is among those that are kept, which need little memory', () => {
    const others = Array.from({ length: 5_000 }, (_, index) => ({ type: `t${index}`, status: 'False' }));
    const { conditions = {} } = nodeWith({ conditions: [{ type: TYPE, status: 'True' }, ...others] });
    expect(Object.keys(conditions).length).toBeLessThan(200);
    expect(conditions).toHaveProperty([TYPE], 'True');
  });

  it('is one of several that must all hold', () => {
    const node = nodeWith({ conditions: [{ type: 'A', status: 'True' }] });
    expect(conditionBlockers([{ type: 'A' }, { type: 'B' }, { type: 'A', status: 'False' }], node)).toHaveLength(2);
  });
});
