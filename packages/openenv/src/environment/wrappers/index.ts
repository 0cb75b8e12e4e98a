export { type ChatEndpointOptions, createChatEndpoint } from "../chat-endpoint.js";
export { type FaultOptions, simulateFaults } from "./faults.js";
export { filterObservation, historyObservation, transformObservation, type WithObservation } from "./observations.js";
export { recordedModel } from "./recorded-model.js";
export { clipReward, transformReward } from "./rewards.js";
export { timeLimit } from "./time-limit.js";
export { Wrapper, wrapEnvironment } from "./wrapper.js";
