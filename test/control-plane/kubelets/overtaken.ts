import { ApiError } from '../../../src/cluster/client/api-error.ts';

const OVERTAKEN = [404, 409];

/**
 * Leaves a write undone whose object has changed or gone meanwhile: the watch brings what it is now, and that is looked at anew.
 *
 * @throws whatever else went wrong
 */
export async function unlessOvertaken(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof ApiError && OVERTAKEN.includes(error.status))) throw error;
  }
}
