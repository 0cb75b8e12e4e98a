import type { BinaryCodec } from "#core/protocol/codec/binary.js";
import type { JournalRecord } from "../journals/journal.js";
import { ANSWER, readAnswers } from "./journal-cells.js";
import type { JournalWriter } from "./journal-writer.js";

interface AnswerCell {
  seq: number;
  cell: string;
}

/** The cells with the answers that the client has not acknowledged. */
export class AnswerCells {
  readonly #writer: JournalWriter;
  readonly #codec: BinaryCodec;
  readonly #stored: AnswerCell[] = [];

  constructor(writer: JournalWriter, codec: BinaryCodec) {
    this.#writer = writer;
    this.#codec = codec;
  }

  /** Those that a process before this one has stored. */
  know(record: JournalRecord): void {
    this.#stored.push(...readAnswers(record, this.#codec));
  }

  /** The cells of the answers up to this number, which are not needed any more. */
  free(ack: number): AnswerCell[] {
    const first = this.#stored.findIndex(({ seq }) => seq > ack);
    return this.#stored.splice(0, first < 0 ? this.#stored.length : first);
  }

  /** Writes over an answer that is not needed any more: that costs less than to remove it and to add another cell. */
  put(seq: number, parts: unknown[], freed: AnswerCell[]): void {
    const cell = freed.pop()?.cell ?? ANSWER + seq;
    this.remove(freed);
    this.#writer.put(cell, this.#codec.encode([seq, ...parts]));
    this.#stored.push({ seq, cell });
  }

  remove(freed: readonly AnswerCell[]): void {
    for (const { cell } of freed) this.#writer.remove(cell);
  }
}
