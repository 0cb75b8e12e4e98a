/** What the kernel does with a program for seccomp, in a few lines, so that one for any architecture can be checked. */
const INSTRUCTION_BYTES = 8;

/** A system call as a filter sees it. */
export interface SystemCall {
  number: number;
  architecture: number;
  args?: readonly number[];
}

/** The program's answer to this call; throws on an instruction that the filter has no use for. */
export function decide(program: Buffer, { number, architecture, args = [] }: SystemCall): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(architecture >>> 0, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + 8 * index);
  let accumulator = 0;
  for (let at = 0; at < program.length; at += INSTRUCTION_BYTES) {
    const code = program.readUInt16LE(at);
    const value = program.readUInt32LE(at + 4);
    const jump = (holds: boolean): void => void (at += INSTRUCTION_BYTES * program.readUInt8(at + (holds ? 2 : 3)));
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x15) jump(accumulator === value);
    else if (code === 0x35) jump(accumulator >= value);
    else if (code === 0x45) jump((accumulator & value) !== 0);
    else if (code === 0x06) return value;
    else throw new Error(`Instruction ${at / INSTRUCTION_BYTES} has the unknown code ${code}.`);
  }
  throw new Error("The program ends without an answer.");
}
