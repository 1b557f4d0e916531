import { provideKubeadm } from './kubeadm/provide.ts';
import { provideTalos } from './talos/provide.ts';

/** One of the places where users run clusters: the tests in the folder of its name run on machines as they are there. */
export interface Place {
  readonly what: string;
  /**
   * Builds and installs what its tests need besides the control plane, on a machine that can have it. What cannot be had is no error: the
   * tests name what they lack.
   *
   * @param report gets one line for each thing that is built or installed
   */
  provide(report: (line: string) => void): Promise<void>;
}

/** By the folder's name. */
export const PLACES: Readonly<Record<string, Place>> = {
  kubeadm: { what: 'clusters that kubeadm makes, with Flannel by its chart', provide: provideKubeadm },
  talos: { what: 'machines that run Talos, without Kubernetes and with it', provide: provideTalos },
};

/** The names that `npm run test:places` takes. */
export const PLACE_NAMES = Object.keys(PLACES);
