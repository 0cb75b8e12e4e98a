/** A small assembler for the classic BPF programs that the kernel runs at each system call (seccomp). */

/** What a program may look at: the number of the call, its architecture, the lower half of an argument. */
export type FilterField = "number" | "architecture" | "argument 0" | "argument 1";

/** `yes` and `no` are labels further down; without one the next step follows. */
export type FilterStep = Instruction | { label: string };

type Instruction =
  | { load: FilterField }
  | { mask: number }
  | { test: "equal" | "at least" | "any bit"; value: number; yes?: string; no?: string }
  | { answer: number };

/** Answers of a program. */
export const ALLOW = 0x7fff_0000;
export const KILL_PROCESS = 0x8000_0000;
/** The call is not made and fails with this error number. */
export const fail = (errno: number): number => 0x0005_0000 | errno;

const INSTRUCTION_BYTES = 8;
const MAX_INSTRUCTIONS = 4096;
const FARTHEST_JUMP = 255;
const CODES = { load: 0x20, mask: 0x54, answer: 0x06, equal: 0x15, "at least": 0x35, "any bit": 0x45 };
/** Of struct seccomp_data, on machines with the least significant byte first, as x64 and arm64. */
const OFFSETS: Record<FilterField, number> = { number: 0, architecture: 4, "argument 0": 16, "argument 1": 24 };

/** The instructions as the array of struct sock_filter that the kernel takes. */
export function assemble(steps: readonly FilterStep[]): Buffer {
  const labels = findLabels(steps);
  const instructions = steps.filter((step): step is Instruction => !("label" in step));
  if (instructions.length > MAX_INSTRUCTIONS) throw new RangeError("A BPF program has 4096 instructions at most.");
  const program = Buffer.alloc(instructions.length * INSTRUCTION_BYTES);
  for (const [index, step] of instructions.entries()) {
    const [code, value] = encode(step);
    const at = index * INSTRUCTION_BYTES;
    program.writeUInt16LE(code, at);
    if ("test" in step) {
      program.writeUInt8(distance(labels, step.yes, index), at + 2);
      program.writeUInt8(distance(labels, step.no, index), at + 3);
    }
    program.writeUInt32LE(value >>> 0, at + 4);
  }
  return program;
}

function encode(step: Instruction): [code: number, value: number] {
  if ("load" in step) return [CODES.load, OFFSETS[step.load]];
  if ("mask" in step) return [CODES.mask, step.mask];
  if ("answer" in step) return [CODES.answer, step.answer];
  return [CODES[step.test], step.value];
}

/** The index of the instruction that follows each label. */
function findLabels(steps: readonly FilterStep[]): Map<string, number> {
  const labels = new Map<string, number>();
  let index = 0;
  for (const step of steps) {
    if ("label" in step) labels.set(step.label, index);
    else index += 1;
  }
  return labels;
}

function distance(labels: Map<string, number>, label: string | undefined, index: number): number {
  if (label === undefined) return 0;
  const skipped = (labels.get(label) ?? -1) - index - 1;
  if (skipped >= 0 && skipped <= FARTHEST_JUMP) return skipped;
  throw new RangeError(`The label "${label}" is not within ${FARTHEST_JUMP} instructions after its jump.`);
}
