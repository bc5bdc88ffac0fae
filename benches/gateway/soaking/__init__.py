"""Mixed load with faults against one server, every answer counted."""
