"""What an agent did, read from its trace: its calls with their purposes and failures, its steps, where its time went.

Pure, and the one home of these readings: collectors count them, analyzers judge them.
"""
