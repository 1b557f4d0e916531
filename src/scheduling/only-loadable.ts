/** Whether no registry can have an image of this name: a node runs it only if a user loaded it. */
export function isOnlyLoadable(image: string): boolean {
  const [host = ''] = image.split('/');
  return /(^|\.)(invalid|localhost)(:\d+)?$/.test(host);
}
