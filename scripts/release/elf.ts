import { readFileSync } from 'node:fs';

/* The format: System V ABI, chapters 4 and 5. Read here, because not every machine has readelf. */

const PROGRAM_HEADERS_OFFSET = 32;
const PROGRAM_HEADER_SIZE = 54;
const PROGRAM_HEADER_COUNT = 56;
const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT_NULL = 0;
const DT_NEEDED = 1;
const DT_STRTAB = 5;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/**
 * The names of the shared libraries without which a program does not start.
 * @throws Error when the file is not a dynamically linked ELF file for a 64-bit little-endian machine
 */
export function neededLibraries(file: string): string[] {
  const elf = readFileSync(file);
  if (elf.subarray(0, 6).toString('latin1') !== '\x7fELF\x02\x01') throw new Error(`${file} is not a 64-bit ELF file`);
  const number = (offset: number) => Number(elf.readBigUInt64LE(offset));
  const segments = segmentsOf(elf, number);
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
  if (!dynamic) throw new Error(`${file} is not dynamically linked`);
  const entries: { tag: number; value: number }[] = [];
  for (let at = dynamic.offset; number(at) !== DT_NULL; at += 16) {
    entries.push({ tag: number(at), value: number(at + 8) });
  }
  const address = entries.find(({ tag }) => tag === DT_STRTAB)?.value ?? 0;
  const holder = segments.find((one) => one.type === PT_LOAD && isIn(one, address));
  if (!holder) throw new Error(`${file} has no names of libraries`);
  const names = address - holder.address + holder.offset;
  return entries
    .filter(({ tag }) => tag === DT_NEEDED)
    .map(({ value }) => elf.toString('latin1', names + value, elf.indexOf(0, names + value)));
}

function segmentsOf(elf: Buffer, number: (offset: number) => number): Segment[] {
  const start = number(PROGRAM_HEADERS_OFFSET);
  const size = elf.readUInt16LE(PROGRAM_HEADER_SIZE);
  return Array.from({ length: elf.readUInt16LE(PROGRAM_HEADER_COUNT) }, (_, index) => {
    const at = start + index * size;
    return { type: elf.readUInt32LE(at), offset: number(at + 8), address: number(at + 16), size: number(at + 32) };
  });
}

function isIn({ address, size }: Segment, wanted: number): boolean {
  return wanted >= address && wanted < address + size;
}

/** Whether a library is a part of glibc (Debian's libc6). */
export function isOfGlibc(library: string): boolean {
  return /^(lib(c|dl|m|pthread|rt)\.so\.\d+|ld-linux-.*\.so\.\d+)$/.test(library);
}
