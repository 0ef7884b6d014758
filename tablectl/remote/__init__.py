"""The infrared remote: pulses, NEC frames, keys, intents."""
