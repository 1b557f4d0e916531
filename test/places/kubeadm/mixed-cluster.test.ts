import { expect } from 'vitest';
import { NAMESPACE } from '../../../scripts/chart.ts';
import { guideLines } from '../../e2e/guide-commands.ts';
import { TAINTKEEPER } from './cluster.ts';
import { restartApiServer, restartControlPlane } from './control-plane.ts';
import { FLANNEL_NAMESPACE, installFlannel, nodeState } from './flannel.ts';
import {
  CONTROL_PLANE_TAINT,
  doctorContent,
  installProduct,
  MASTER_TAINT,
  nodesReady,
  podsReady,
  productReady,
  removalDenied,
  runGuided,
  taintsOf,
} from './product.ts';
import { describeOnMachines } from './steps.ts';

const DAEMON_SET = 'daemonset/kube-flannel-ds';
const PATIENT = { timeoutMs: 180_000 };
/** Prints what the page shows, as JSON. @param $@ how `taintkeeper` is run */
const READ_PAGE = `
exec 3< <(exec "$@" dashboard --no-open)
trap "kill $!" EXIT
read -r url <&3
curl --silent --show-error --fail "$url"api/state
`;

describeOnMachines('the mixed cluster of Flannel PR #1907', ['cp-1', 'node-2', 'cp-3'], (step, cluster) => {
  const kubectl = (...args: readonly string[]) => cluster().kubectl(args, PATIENT);

  step('kubeadm init makes a control plane', ['kubelet', 'containerd', 'kube-apiserver', 'etcd'], async () => {
    await cluster().init();
    expect(await taintsOf(cluster(), 'cp-1')).toEqual([`${CONTROL_PLANE_TAINT}:NoSchedule`]);
    const [removal = ''] = guideLines('install.md', 'Control-plane nodes that run workloads');
    await runGuided(cluster(), `${removal} --dry-run=server`);
    return undefined;
  });

  step('kubeadm join adds a node; it gets the taint of old control planes', ['kubelet', 'kube-apiserver'], async () => {
    await cluster().join('node-2');
    await kubectl('wait', '--for=create', 'node/node-2', '--timeout=90s');
    await kubectl('taint', 'node', 'node-2', `${MASTER_TAINT}:NoSchedule`);
    return undefined;
  });

  step(
    'Flannel by its chart, with the tolerations of PR #1907, does not run on that node',
    ['kube-flannel'],
    async () => {
      await installFlannel(cluster());
      await nodesReady(cluster(), 'cp-1');
      const desired = await kubectl(
        ...['--namespace', FLANNEL_NAMESPACE, 'get', DAEMON_SET],
        ...['--output', 'jsonpath={.status.desiredNumberScheduled}'],
      );
      expect({ desired, state: await nodeState(cluster(), 'node-2') }).toEqual({ desired: '1', state: 'NotReady' });
      return `desired ${desired} of 2, node-2 NotReady`;
    },
  );

  step('taintkeeper coverage names the gap, without an installation', ['kube-apiserver'], async () => {
    const { code, stdout } = await cluster().taintkeeper('coverage', '--node', '*', '--daemonset', 'kube-flannel-ds');
    const gap = stdout.split('\n').find((line) => line.includes('node-2')) ?? stdout;
    expect({ code, gap }).toEqual({ code: 1, gap: expect.stringContaining(`${MASTER_TAINT}:NoSchedule`) });
    return gap.trim();
  });

  step('manifests/install.yaml installs taintkeeper', ['taintkeeper', 'kube-apiserver', 'kubelet'], async () => {
    await installProduct(cluster());
    return (await kubectl('get', 'taintpolicies,tolerationpolicies', '--no-headers')).replaceAll(/\s+/g, ' ').trim();
  });

  step(
    'a restart of the DaemonSet adds the toleration, and the node is Ready',
    ['taintkeeper', 'kube-flannel', 'kube-apiserver'],
    async () => {
      await kubectl('--namespace', FLANNEL_NAMESPACE, 'rollout', 'restart', DAEMON_SET);
      await nodesReady(cluster(), 'node-2');
      await kubectl('--namespace', FLANNEL_NAMESPACE, 'rollout', 'status', DAEMON_SET, '--timeout=90s');
      const { code, stdout } = await cluster().taintkeeper('coverage', '--daemonset', 'kube-flannel-ds');
      expect(code, stdout).toBe(0);
      return undefined;
    },
  );

  step('doctor finds nothing wrong', ['taintkeeper', 'kube-apiserver'], async () => {
    await podsReady(cluster());
    return doctorContent(cluster());
  });

  step('on call, the doctor runs in a replica, and in a pod of its own', ['taintkeeper', 'kubelet'], async () => {
    const machine = cluster().machine('cp-1');
    const [inReplica = ''] = guideLines('on-call.md', 'The command line in a replica');
    // Its exit code is 2 where a check takes rights that a replica does not have.
    const { stdout, stderr } = await machine.exec(['bash', '-c', `${inReplica}\ntaintkeeper doctor`], PATIENT);
    expect(stdout, stderr).toMatch(/\d+ checks/);
    const inPod = guideLines('troubleshooting.md', 'Run the doctor').join('\n');
    expect(await machine.run(['bash', '-c', inPod], PATIENT)).toMatch(/^healthy/m);
    const [log = ''] = guideLines('troubleshooting.md', 'The log of the replicas')[0]?.split(' | ') ?? [];
    expect(await machine.run(['bash', '-c', log], PATIENT)).toMatch(/^\[pod\/taintkeeper-/m);
    return undefined;
  });

  step('on call, the replicas are restarted, and the taint is protected', ['taintkeeper', 'kubelet'], async () => {
    for (const command of guideLines('on-call.md', 'The webhook does not answer')) {
      await cluster().machine('cp-1').run(['bash', '-c', command], PATIENT);
    }
    await podsReady(cluster());
    return removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
  });

  step("taintkeeper dashboard forwards a port to the leader's page", ['taintkeeper', 'kubelet'], async () => {
    const page = JSON.parse(
      await cluster()
        .machine('cp-1')
        .run(['bash', '-euc', READ_PAGE, '-', ...TAINTKEEPER]),
    );
    expect(page.nodes.rows.map(({ name }: { name: string }) => name)).toEqual(['cp-1', 'node-2']);
    return undefined;
  });

  step('both names of the taint are protected', ['taintkeeper', 'kube-apiserver'], async () => {
    await removalDenied(cluster(), 'node-2', MASTER_TAINT);
    return removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
  });

  step('the annotation of docs/operating.md allows the removal', ['taintkeeper', 'kube-apiserver'], async () => {
    const [print = '', allow = '', remove = ''] = guideLines('operating.md', 'Removing a protected taint').map((line) =>
      line.replace('NODE', 'cp-1').replace('KEY=VALUE:EFFECT', `${CONTROL_PLANE_TAINT}:NoSchedule`),
    );
    await runGuided(cluster(), print);
    await runGuided(cluster(), allow);
    expect(remove).toContain(`${CONTROL_PLANE_TAINT}:NoSchedule-`);
    await runGuided(cluster(), `${remove} --dry-run=server`);
    await kubectl('annotate', 'node', 'cp-1', 'taintkeeper.dev/allow-removal-');
    return removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
  });

  step('the API server restarts while no replica runs', ['kube-apiserver', 'kubelet'], async () => {
    await kubectl('--namespace', NAMESPACE, 'scale', 'deployment/taintkeeper', '--replicas=0');
    await kubectl('--namespace', NAMESPACE, 'wait', '--for=delete', 'pods', '--all', '--timeout=90s');
    await restartApiServer(cluster(), 'cp-1');
    await nodesReady(cluster(), 'cp-1', 'node-2');
    // The webhook cannot be asked, and the policy is of mode Deny.
    const { code, stderr } = await cluster().tryKubectl([
      'taint',
      'node',
      'cp-1',
      `${CONTROL_PLANE_TAINT}-`,
      '--dry-run=server',
    ]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('failed calling webhook') });
    await kubectl('--namespace', NAMESPACE, 'scale', 'deployment/taintkeeper', '--replicas=2');
    await productReady(cluster());
    await removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
    return undefined;
  });

  step(
    'kubeadm certs renew, with a restart of the control plane',
    ['kube-apiserver', 'kube-controller-manager'],
    async () => {
      await cluster().machine('cp-1').run(['kubeadm', 'certs', 'renew', 'all']);
      await restartControlPlane(cluster(), 'cp-1');
      await nodesReady(cluster(), 'cp-1', 'node-2');
      await removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
      return doctorContent(cluster());
    },
  );

  step('a second control plane joins', ['kubelet', 'kube-apiserver', 'etcd'], async () => {
    await cluster().join('cp-3', { controlPlane: true });
    await nodesReady(cluster(), 'cp-3');
    expect(await taintsOf(cluster(), 'cp-3')).toEqual([`${CONTROL_PLANE_TAINT}:NoSchedule`]);
    await removalDenied(cluster(), 'cp-3', CONTROL_PLANE_TAINT);
    return undefined;
  });

  step('all nodes are drained, one after the other', ['taintkeeper', 'kubelet'], async () => {
    for (const name of ['node-2', 'cp-3', 'cp-1']) {
      await kubectl('drain', name, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=120s');
      await removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
      await kubectl('uncordon', name);
    }
    await productReady(cluster());
    await podsReady(cluster());
    return undefined;
  });

  step('a control plane whose Node was deleted comes back as a worker', ['kubelet', 'kube-apiserver'], async () => {
    await kubectl('delete', 'node', 'cp-3');
    await cluster().machine('cp-3').run(['systemctl', 'restart', 'kubelet']);
    await nodesReady(cluster(), 'cp-3');
    const roles = (await kubectl('get', 'node', 'cp-3', '--no-headers')).split(/\s+/)[2];
    expect({ roles, taints: await taintsOf(cluster(), 'cp-3') }).toEqual({ roles: '<none>', taints: [] });
    return undefined;
  });

  step(
    'the commands of docs/troubleshooting.md mark it again, and it is protected',
    ['kubelet', 'taintkeeper'],
    async () => {
      const commands = guideLines('troubleshooting.md', 'A control-plane node comes back as a worker').map((line) =>
        line.replaceAll('NODE', 'cp-3'),
      );
      for (const command of commands) {
        await cluster()
          .machine(command.startsWith('kubeadm') ? 'cp-3' : 'cp-1')
          .run(['bash', '-c', command]);
        expect(await taintsOf(cluster(), 'cp-3')).toEqual([`${CONTROL_PLANE_TAINT}:NoSchedule`]);
      }
      expect((await kubectl('get', 'node', 'cp-3', '--no-headers')).split(/\s+/)[2]).toBe('control-plane');
      return removalDenied(cluster(), 'cp-3', CONTROL_PLANE_TAINT);
    },
  );

  step('kubeadm reset, and a join with the same name', ['kubelet', 'kube-apiserver'], async () => {
    const machine = cluster().machine('node-2');
    await kubectl('drain', 'node-2', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=120s');
    await kubectl('delete', 'node', 'node-2');
    await machine.run(['kubeadm', 'reset', '--force'], PATIENT);
    // What `kubeadm reset` says that it leaves.
    await machine.run(['rm', '-rf', '/etc/cni/net.d/10-flannel.conflist']);
    await cluster().join('node-2', { taints: [{ key: MASTER_TAINT, effect: 'NoSchedule' }] });
    await nodesReady(cluster(), 'node-2');
    return removalDenied(cluster(), 'node-2', MASTER_TAINT);
  });

  step('all machines lose power, and come back', ['kubelet', 'kube-apiserver', 'etcd', 'taintkeeper'], async () => {
    const machines = ['cp-1', 'node-2', 'cp-3'].map((name) => cluster().machine(name));
    await Promise.all(machines.map((machine) => machine.cutPower()));
    const started = performance.now();
    await Promise.all(machines.map((machine) => machine.powerOn()));
    const denied = await removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
    const seconds = Math.round((performance.now() - started) / 1000);
    await nodesReady(cluster(), 'cp-1', 'node-2', 'cp-3');
    await podsReady(cluster());
    await doctorContent(cluster());
    return `${denied}, after ${seconds} s`;
  });
});
