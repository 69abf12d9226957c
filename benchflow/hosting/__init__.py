"""What `AcpProvider` hosts a session with: its process, its environment, its observers, its meters."""
