export type StepTab = "step" | "diff" | "raw";

/** Told to the document: which tab of the step is wanted. */
export const STEP_TAB_EVENT = "openenv:step-tab";
